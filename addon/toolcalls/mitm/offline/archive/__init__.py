"""An archive of recorded flows: many files, folders and gigabytes, read in parts by one process or by many.

In: names of files, folders and URLs. Out: what a job says of each part, in the order of the archive whatever the
engine.

    parts      files and the parts that they are cut into: read this first
    frames     the bytes of a flow as plain data, quicker than the host
    reading    the flows of a part; what of it is broken
    engines    a job on all parts: here, in processes (`--jobs`), on Dask (`on_dask`)
    state      what is done already, so that a run that was ended goes on
    rows       exchanges as rows of Parquet
    judging    the job of `toolcalls judge`
    turns      that of `toolcalls report`

Memory is flat: a part is read flow by flow, and only a few parts are under way at a time.
"""
