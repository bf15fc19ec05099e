/** The program as a user starts it who cloned the project and built nothing. */
import { execFile } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../setup/temporary-folder.ts'

const NOT_COPIED = ['.git', '.tmp', 'dist', 'docs', 'node_modules', 'test']

/** Returns a clone in a folder of its own. */
function cloneProject(): { folder: string; clone: string } {
  const folder = temporaryFolder()
  const clone = join(folder, 'clone')
  for (const name of readdirSync('.').filter(name => !NOT_COPIED.includes(name))) {
    cpSync(name, join(clone, name), { recursive: true })
  }
  symlinkSync(resolve('node_modules'), join(clone, 'node_modules'))
  return { folder, clone }
}

async function run(clone: string, args: readonly string[], cwd: string): Promise<string> {
  const command = [join(clone, 'bin/modelhost-sim.js'), ...args]
  return (await promisify(execFile)(process.execPath, command, { cwd })).stdout
}

test('the program runs scenarios from the source when the current folder has no tsconfig.json or another one', async () => {
  const { folder, clone } = cloneProject()
  writeFileSync(join(folder, 'story.yaml'), 'title: a story\nsteps:\n  - advance: 1m\n')
  const runStory = () => run(clone, ['run', 'story.yaml', '--update'], folder)
  expect(await runStory()).toContain('1 scenario')

  writeFileSync(join(folder, 'tsconfig.json'), '{ "compilerOptions": { "useDefineForClassFields": true } }')
  expect(await runStory()).toContain('1 scenario')
  // These scripts import the package, which is the source here.
  const script = join(clone, 'story.mjs')
  writeFileSync(
    script,
    "import { scenario } from 'modelhost-sim/scenario'\n" +
      "export default scenario('a story', { fixtures: 'empty' }, ({ clock }) => clock.advance('1m'))\n",
  )
  expect(await run(clone, ['run', script, '--update'], folder)).toContain('1 scenario')
  expect(await run(clone, ['run', join(clone, 'scenarios/deploy/cold-start.ts')], folder)).toContain('1 scenario')
})

test('a start after a change of the source runs the changed source', async () => {
  const { folder, clone } = cloneProject()
  const source = join(clone, 'src/cli/commands/env.ts')
  const text = readFileSync(source, 'utf8')
  const helpWith = async (describe: string) => {
    writeFileSync(source, text.replace(/describe = '[^']*'/, `describe = '${describe}'`))
    return run(clone, ['--help'], folder)
  }
  expect(await helpWith('Keep the world of today')).toContain('Keep the world of today')
  expect(await helpWith('Keep the world of tomorrow')).toContain('Keep the world of tomorrow')
  // An older state of the source has its earlier bundle.
  expect(await helpWith('Keep the world of today')).toContain('Keep the world of today')
  // The bundle names files of the clone.
  renameSync(clone, join(folder, 'moved'))
  expect(
    await run(join(folder, 'moved'), ['run', join(folder, 'moved/scenarios/deploy/cold-start.ts')], folder),
  ).toContain('1 scenario')
})
