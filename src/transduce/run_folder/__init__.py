"""What a run is on disk.

    experiment.toml       every setting
    tokenizer.json        text to ids and back
    data.json             what was read, kept and dropped, with checksums
    checkpoints/step-N/   weights, optimizer, state, manifest
    best/  average/       weights, state, manifest
    journal.jsonl         one line per event, cut back to the checkpoint on resume
    results.json          scores, with what they were computed from and on

A checkpoint is a *snapshot*: written aside, its manifest (with the SHA-256 of each file) last, synced,
and renamed as a whole. It exists completely or not at all. Nothing is ever pickled.
"""

from transduce.run_folder.files import read_json, write_text
from transduce.run_folder.folder import RunFolder
from transduce.run_folder.snapshot import Snapshot, fitting_weights, load_weights, write_snapshot

__all__ = ["RunFolder", "Snapshot", "fitting_weights", "load_weights", "read_json", "write_snapshot", "write_text"]
