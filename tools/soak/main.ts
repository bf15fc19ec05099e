/** `npm run soak -- streams`, `events` and `shards`: runs that are too long for the tests. */

const USAGE = `Usage: npm run soak -- streams [--minutes 10]
       npm run soak -- events [--requests 1000000] [--over process|http]
       npm run soak -- shards [--seeds 10000] [--processes 8] [--flow FILE] [--out FOLDER] [--program FILE] [--no-whole]
`

const [soak = 'streams'] = process.argv.slice(2)
if (soak === 'streams') await import('./streams.ts')
else if (soak === 'events') await import('./events.ts')
else if (soak === 'shards') await import('./shards.ts')
else {
  process.stderr.write(`Failed to soak: '${soak}' is unknown. ${USAGE}`)
  process.exitCode = 2
}
