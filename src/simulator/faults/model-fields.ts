import type { AnyEndpoint } from '../../service/endpoint.ts'

/** The fields of a body in which a request names a model. */
export const MODEL_FIELDS = ['model_name', 'model', 'base_model'] as const

/** Returns whether an upload has a text field that names a model. */
export function namesModelInForm({ upload }: Pick<AnyEndpoint, 'upload'>): boolean {
  const fields = upload?.fields ?? {}
  return MODEL_FIELDS.some(field => Object.hasOwn(fields, field))
}
