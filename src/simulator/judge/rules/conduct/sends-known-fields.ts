import { groupBy } from '../../../../lib/lists.ts'
import { violationAt } from '../../facts.ts'
import type { Conduct, ObservedRequest } from '../../observation.ts'
import { defineRule } from '../../rule.ts'
import { nameRequest, operationOf, quoteText } from '../../words.ts'

/** Each field and query parameter that the client sends is one that the service reads. Uploads are not looked at. */
export const sendsKnownFields = defineRule({
  summary: 'The service reads every field that the client sends.',
  advice: 'Remove the field, or correct its name. Strict requests refuse such fields while you develop.',
  detail:
    'Query parameters and fields of JSON bodies count. Free content such as `metadata` has no unknown fields, and the fields of uploads are not looked at. Strict requests are not needed.',
  source:
    'Opinion of modelhost-sim: a field that nothing reads is a mistyped name, or a setting that does not act. The ' +
    'interface document names the fields.',
  place: 'operation',
  check(conduct) {
    const unread = conduct.requests.flatMap(request =>
      unreadFieldsOf(conduct, request).map(field => ({ field, request })),
    )
    const groups = groupBy(unread, ({ field, request }) => `${operationOf(request)} ${field}`)
    return [...groups.values()].map(group => {
      const [{ field, request }] = group as [(typeof group)[0]]
      const times = group.length === 1 ? 'once' : `${group.length} times`
      const words = `Nothing reads the field ${quoteText(field)} of ${operationOf(request)}. The client sent it ${times}, first in ${nameRequest(request)}.`
      return violationAt(request, words)
    })
  },
})

function unreadFieldsOf({ sim }: Conduct, { operation, method, path, body }: ObservedRequest): readonly string[] {
  if (operation === '' || (body === undefined && !path.includes('?'))) return []
  const text = body === undefined || typeof body === 'string' ? undefined : JSON.stringify(body)
  return sim.api.findUnreadFields(sim.world, { method, target: path, text })
}
