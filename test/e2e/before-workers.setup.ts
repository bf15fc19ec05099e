import { spawnSync } from 'node:child_process'
import { delimiter, dirname } from 'node:path'
import { installed } from './installed-package.ts'

/** Builds the package once, before the workers start processes from it, and lets them find Python at once. */
export default function setup(): void {
  installed()
  usePythonItself()
}

/** Puts the folder of Python first. `python3` can be a script that looks for Python, which takes longer than its start. */
function usePythonItself(): void {
  const { stdout } = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' })
  const program = stdout?.trim()
  if (program) process.env.PATH = `${dirname(program)}${delimiter}${process.env.PATH}`
}
