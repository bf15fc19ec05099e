/** `npm run soak`: long runs. `npm run soak -- events` reads live events; without a word, it streams chats. */
const [name] = process.argv.slice(2)
if (name === 'events') await import('./events.ts')
else await import('./streams.ts')
