/** The operations of the control plane by their route, as in `GET /_sim/clock`, for clients without the declarations. */
import type { RequestFor, ResponseFor } from '../../../service/client/client.ts'
import type { controlOperations } from '../index.ts'

type Served = typeof controlOperations

/** The answer of each operation. */
export type AnswersByRoute = { [Id in keyof Served as Served[Id]['route']]: ResponseFor<Served[Id]> }

/** The fields of path, query and body of each operation, in one object. */
export type FieldsByRoute = { [Id in keyof Served as Served[Id]['route']]: RequestFor<Served[Id]> }

/** A route of the control plane. */
export type ControlRoute = keyof AnswersByRoute
