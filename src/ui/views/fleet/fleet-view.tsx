import { useAnswer } from '../../store/use-answer.ts'

/** The nodes of the fleet. */
export function FleetView() {
  const { value: nodes, error } = useAnswer('GET /_sim/cluster/nodes', {})
  if (error !== undefined) return <p role="alert">✗ {error}</p>
  return <pre>{JSON.stringify(nodes, null, 1)}</pre>
}
