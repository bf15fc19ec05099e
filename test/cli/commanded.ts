import { vi } from 'vitest'
import { main } from '../../src/cli/index.ts'

/** The command line in this process, for what ends by itself: a process of its own takes half a second. */
export async function commanded(args: readonly string[], env: Record<string, string> = {}) {
  const written = { stdout: '', stderr: '' }
  const spies = (['stdout', 'stderr'] as const).map(stream =>
    vi.spyOn(process[stream], 'write').mockImplementation(text => {
      written[stream] += text
      return true
    }),
  )
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  try {
    await main(args)
    return { code: process.exitCode ?? 0, ...written }
  } finally {
    process.exitCode = undefined
    vi.unstubAllEnvs()
    for (const spy of spies) spy.mockRestore()
  }
}
