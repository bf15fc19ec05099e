/** `npm run soak -- streams` and `npm run soak -- events`: runs that are too long for the tests. */

const USAGE = `Usage: npm run soak -- streams [--minutes 10]
       npm run soak -- events [--requests 1000000] [--over process|http]
`

const [soak = 'streams'] = process.argv.slice(2)
if (soak === 'streams' || soak.startsWith('--')) await import('./streams.ts')
else if (soak === 'events') await import('./events.ts')
else {
  process.stderr.write(`Failed to soak: '${soak}' is unknown. ${USAGE}`)
  process.exitCode = 2
}
