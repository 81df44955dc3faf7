/** Modules that an acceptance command may import although no work order provides them. */
export const ordinaryModules: ReadonlySet<string> = new Set(
  `abc ast asyncio base64 builtins collections contextlib copy csv dataclasses datetime decimal enum functools glob
  hashlib importlib inspect io itertools json logging math multiprocessing operator os pathlib pickle pprint queue
  random re shlex shutil signal socket sqlite3 string struct subprocess sys tempfile textwrap threading time traceback
  typing unittest urllib uuid warnings zipfile pytest pydantic numpy pip`.split(/\s+/),
);
