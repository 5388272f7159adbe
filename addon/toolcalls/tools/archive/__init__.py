"""An archive of recorded flows: many files, folders and gigabytes, read in parts by one process or by many.

In: names of files, folders and URLs. Out: what a job says of each part, in the order of the archive whatever the
engine.

    parts      files and the parts that they are cut into: read this first
    reading    the flows of a part; what of it is broken
    engines    a job on all parts: here, in processes (`--jobs`), on Dask (`on_dask`)
    progress   how far a command has come with its files

The jobs are in the rooms of their commands: `judge/job`, `report/turns`. Memory is flat: a part is read flow by flow,
and only a few parts are under way at a time.
"""
