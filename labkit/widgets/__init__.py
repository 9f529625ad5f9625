"""What a notebook shows and a reader moves: widgets that also stand as pictures, text and pages without a kernel."""

from labkit.widgets.questions import Question
from labkit.widgets.quiz import Quiz
from labkit.widgets.timeline import CrashTimeline
from labkit.widgets.views.curves import CostCurves
from labkit.widgets.views.heat import MatrixTable
from labkit.widgets.views.states import EffectStates
from labkit.widgets.views.waiting import WaitingBoard

__all__ = [
    "CostCurves",
    "CrashTimeline",
    "EffectStates",
    "MatrixTable",
    "Question",
    "Quiz",
    "WaitingBoard",
]
