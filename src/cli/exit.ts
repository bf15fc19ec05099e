/** Ends the process. Bound at import, because a run replaces `process.exit` while scripts are played. */
export const exitProcess: typeof process.exit = process.exit.bind(process)

/** Ends the process with `process.exitCode` when everything written has reached its reader. */
export async function exitWhenWritten(): Promise<never> {
  const streams = [process.stdout, process.stderr]
  await Promise.all(streams.map(stream => new Promise<void>(resolve => stream.write('', () => resolve()))))
  return exitProcess()
}
