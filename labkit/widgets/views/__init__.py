"""Views beside the timeline: the states of an effect, the curves of cost, the matrix, and what waits for a person."""
