/** CPU profiles of a figure, for finding out where its time goes. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { join } from 'node:path'

/** Runs `work` and writes a profile of this process beside those of the processes it starts. */
export async function profiled<T>(folder: string, name: string, work: () => Promise<T>): Promise<T> {
  mkdirSync(folder, { recursive: true })
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.start')
  try {
    return await work()
  } finally {
    const { profile } = await session.post('Profiler.stop')
    session.disconnect()
    writeFileSync(join(folder, `${name}.cpuprofile`), JSON.stringify(profile))
  }
}

/** What Node is started with so that a process writes its own. */
export function profilingArgs(folder: string | undefined, name: string): string[] {
  return folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${name}.cpuprofile`]
}
