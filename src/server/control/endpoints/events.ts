import * as z from 'zod'
import { fieldsOf, given } from '../../../lib/fields.ts'
import { splitCommas } from '../../../lib/text/comma-list.ts'
import { ServerSentEvents } from '../../../service/results.ts'
import { EventReader } from '../../../simulator/requests/event-reader.ts'
import { control, refuseInvalid } from '../endpoint.ts'
import { createEventStream } from '../event-stream.ts'

export const watchEvents = control({
  route: 'GET /_sim/events',
  summary:
    'Stream journal entries and answered requests as server-sent events. `kind` and `subject` can be lists with ' +
    'commas, and `*` is any text. `kind=request` gives requests alone. `after` is `now`, `start` or the id of an ' +
    'event; a header `Last-Event-ID` takes precedence. With `follow=false`, the stream ends after what is kept. With ' +
    '`form=columns`, many entries make one event `entries`, which is less work: docs/requests.md describes it',
  example: { target: '/_sim/events?after=start&follow=false&kind=deployment.*,request' },
  refusals: { 400: 'an unknown kind, or an invalid position', 429: 'the world has 100 readers' },
  produces: 'text/event-stream; charset=utf-8',
  query: {
    ...fieldsOf(z.string().optional(), 'kind', 'subject', 'after'),
    follow: z.enum(['true', 'false']).default('true'),
    form: z.enum(['objects', 'columns']).default('objects'),
  },
  returns: z.string(),
  handle: async ({ query: { kind, subject, after, follow, form }, request, sim, eventTexts }) => {
    const start = request.headers.get('last-event-id') ?? after
    const options = {
      ...{ follow: follow === 'true', isGrouped: form === 'columns' },
      ...given({ kind: splitCommas(kind), subject: splitCommas(subject), after: start }),
    }
    const reader = await refuseInvalid(() => new EventReader(sim, options))
    return new ServerSentEvents(createEventStream(sim, reader, eventTexts()))
  },
})
