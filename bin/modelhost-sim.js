#!/usr/bin/env node
// Plain JavaScript without a build, so that npx works in a fresh clone, and old enough in its syntax that an old Node
// gets as far as the check of its version. See docs/decisions/0006-starting.md.
const NEEDED = [20, 19]
const found = process.versions.node.split('.').map(Number)
if (found[0] < NEEDED[0] || (found[0] === NEEDED[0] && found[1] < NEEDED[1])) {
  process.stderr.write(
    `Failed to start: this is Node ${process.versions.node}. Use Node ${NEEDED.join('.')} or newer.\n`,
  )
  process.exit(2)
}
try {
  process.cwd()
} catch {
  process.stderr.write('Failed to start: the current folder was deleted. Change to another folder.\n')
  process.exit(2)
}

// An import of these modules would load more of them.
const { existsSync, readdirSync, statSync } = process.getBuiltinModule('node:fs')
// Since Node 22: caches compiled code for the next start.
if (found[0] >= 22) process.getBuiltinModule('node:module').enableCompileCache?.()

const SOURCE = new URL('../src/', import.meta.url)
const BUNDLE = new URL('../dist/cli.js', import.meta.url)

const { importSource } = existsSync(SOURCE) && !isFresh() ? await import('../tools/build/start-source.js') : {}
const { main } = importSource ? await importSource() : await import(BUNDLE.href)
await main(process.argv.slice(2))

/** Returns whether the bundle is newer than every file that goes into it. */
function isFresh() {
  const built = statSync(BUNDLE, { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (built === 0) return false
  const changed = url => statSync(url, { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (changed(new URL('../package-lock.json', import.meta.url)) > built) return false
  // Folders too: their time changes when a file is removed.
  const entries = readdirSync(SOURCE, { recursive: true })
  return ['', ...entries].every(entry => changed(new URL(entry.replaceAll('\\', '/'), SOURCE)) <= built)
}
