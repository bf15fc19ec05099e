/** Rules to begin with: what clients meet most often. Each can be changed before it is added. */
export interface Preset {
  readonly title: string
  readonly rule: Readonly<Record<string, unknown>>
}

export const PRESETS: readonly Preset[] = [
  {
    title: 'The answer to the next create is lost, but it was done',
    rule: { on: 'create*', times: 1, fault: { kind: 'reset', effect: 'done' } },
  },
  {
    title: 'The next three requests are answered 503',
    rule: { on: '*', times: 3, fault: { kind: 'status', status: 503 } },
  },
  {
    title: 'Too many requests for a minute: 429 with Retry-After',
    rule: { on: '*', until: '1m', fault: { kind: 'rateLimit', retryAfter: '20s' } },
  },
  { title: 'Lists are slow', rule: { on: 'list*', fault: { kind: 'latency', delay: '5s' } } },
  { title: 'One request in ten breaks', rule: { on: '*', chance: 0.1, fault: { kind: 'reset' } } },
  {
    title: 'An outage of a minute from the next request on',
    rule: { on: '*', nth: 1, for: '60s', fault: { kind: 'status', status: 503 } },
  },
]
