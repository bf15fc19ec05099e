import type { EndProcess } from '../workbench/scenario/runner/process-guard.ts'

const exit = process.exit.bind(process)
const { reallyExit } = process as unknown as EndProcess

/** Ends the process. A run replaces these functions while scripts are played. */
export const exitProcess: typeof process.exit = (...code) => {
  Object.assign(process, { reallyExit })
  return exit(...code)
}

/** Ends the process with `process.exitCode` when everything written has reached its reader. */
export async function exitWhenWritten(): Promise<never> {
  const streams = [process.stdout, process.stderr]
  await Promise.all(streams.map(stream => new Promise<void>(resolve => stream.write('', () => resolve()))))
  return exitProcess()
}
