/** What the producer and the workers share. */
export const QUEUE = 'shards'
export const connection = { host: process.env.REDIS_HOST ?? '127.0.0.1', port: Number(process.env.REDIS_PORT ?? 6379) }
