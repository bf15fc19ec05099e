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

// Since Node 22: caches compiled code for the next start.
if (found[0] >= 22) process.getBuiltinModule('node:module').enableCompileCache?.()

// A clone has the source, and an installed package the bundle. An import of node:fs would load more of it.
const isClone = process.getBuiltinModule('node:fs').existsSync(new URL('../src/', import.meta.url))
const bundle = isClone
  ? await (await import('../tools/build/start-source.js')).bundledSource()
  : new URL('../dist/cli.js', import.meta.url)
const { main } = await import(bundle.href)
await main(process.argv.slice(2))
