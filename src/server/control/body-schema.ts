import * as z from 'zod'
import type { AnyEndpoint } from '../../service/endpoint.ts'

/** Returns the schema of a body that is given, also if it can be left out; undefined for an endpoint without a body. */
export function givenBody({ body }: Pick<AnyEndpoint, 'body'>): z.ZodType | undefined {
  return body instanceof z.ZodOptional ? (body.unwrap() as z.ZodType) : body
}
