"""dpmm's marginal models on a table of bins: rows in, as many rows out, with its defaults.

`synthesize BINS SIZES MODEL OUT`: a CSV of bins, a JSON object of each column's number of bins, MST or AIM,
and the CSV to write.
"""

from __future__ import annotations

import json
import time

import pandas as pd
from dpmm.pipelines import AIMPipeline, MSTPipeline

from benchmarks.peers import task

EPSILON, DELTA = 1.0, 1e-9
MODELS = {"MST": MSTPipeline, "AIM": AIMPipeline}


def synthesize(bins: str, sizes: str, model: str, out: str) -> None:
    rows, domain = pd.read_csv(bins), json.loads(sizes)
    start, worked = time.perf_counter(), time.process_time()
    pipeline = MODELS[model](epsilon=EPSILON, delta=DELTA, disable_processing=True)
    pipeline.fit(rows, domain)
    made = pipeline.generate(n_records=len(rows))
    task.report(
        model=model, seconds=time.perf_counter() - start, worked=time.process_time() - worked, rows=len(made)
    )
    made[list(rows.columns)].astype(int).to_csv(out, index=False)


if __name__ == "__main__":
    task.main(synthesize=synthesize)
