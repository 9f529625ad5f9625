"""The facade that notebooks and exercises import.

`facade.Lab` runs, kills and looks; `compare.compare` sets engines side by side. Both are public names of `labkit`.
"""
