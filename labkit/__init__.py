"""The durable-agent crash lab: three recovery engines, an effect protocol, real kills and exhaustive schedules."""
