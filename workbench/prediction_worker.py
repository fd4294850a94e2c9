"""The prediction process: answers texts with kept artifacts, so that whoever asks needs no heavy library.

Started as ``python -m workbench.prediction_worker``. Each line of its input is a JSON object with ``artifacts`` (paths
by name) and ``texts`` (lists of one or two); to each it answers one line, ``{"answered": …}`` or ``{"error": …}``.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pydantic import ValidationError

from workbench.errors import WorkbenchError, first_line
from workbench.predicting import Predictor
from workbench.prediction_records import PredictionAnswer, PredictionRequest
from workbench.probes.opening import take_over_output
from workbench.silence import quieten_libraries


def serve() -> int:
    """Answer requests until whoever asks hangs up; a request that cannot be served does not end the process."""
    pipe = take_over_output()
    quieten_libraries()
    predictor = Predictor()
    for line in sys.stdin:
        pipe.write(json.dumps(answer_to(line, predictor)) + "\n")
        pipe.flush()
    return 0


def answer_to(line: str, predictor: Predictor) -> dict[str, Any]:
    """The answer to one line."""
    try:
        asked = _request(line)
        found = PredictionAnswer(answered=predictor.answers(asked.artifacts, asked.texts))
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"]))
        return {"error": f"not a request for predictions ({place or 'the line'}: {fault['msg']})"}
    except WorkbenchError as error:
        return {"error": " ".join(str(error).split())}
    except Exception as error:  # noqa: BLE001 - a library's failure on one text must not end the process
        return {"error": f"{type(error).__name__}: {first_line(error)}"}
    return found.model_dump(mode="json", exclude_none=True)


def _request(line: str) -> PredictionRequest:
    try:
        told = json.loads(line)
    except ValueError as error:
        raise WorkbenchError(f"not a line of JSON ({first_line(error)})") from None
    if isinstance(told, dict):
        # What is to be done is named for processes that can do several things; this one can do one.
        told.pop("do", None)
    return PredictionRequest.model_validate(told)


if __name__ == "__main__":
    raise SystemExit(serve())
