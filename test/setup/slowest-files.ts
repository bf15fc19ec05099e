import type { Reporter, TestModule } from 'vitest/node'

const COUNT = 10

/** Prints the ten test files that took longest, in seconds of loading and running. */
export default class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length <= COUNT) return
    const files = modules.map(module => {
      const { collectDuration, duration } = module.diagnostic()
      return { name: module.relativeModuleId, seconds: (collectDuration + duration) / 1000 }
    })
    const slowest = files.sort((a, b) => b.seconds - a.seconds).slice(0, COUNT)
    const lines = slowest.map(({ name, seconds }) => `${seconds.toFixed(1).padStart(8)} s  ${name}\n`)
    process.stdout.write(`\n Slowest files\n${lines.join('')}`)
  }
}
