/**
 * SQL: one row for each event of a node, from the rows of `run_event` that meet a condition on `e`. A stored row also covers the starts of
 * the nodes that its outcome has started, and has the number of the last of them: see `eventsOf` in `run-events.ts`.
 */
export function nodeEvents(condition: string): string {
  return `
    select e.instance_id, e.seq - coalesce(jsonb_array_length(e.started), 0) as seq, e.node_id, e.iteration, e.frame, e.attempt, e.status,
           e.exit, e.created_at as at
    from run_event e where ${condition} and e.node_id is not null
    union all
    select e.instance_id, e.seq - jsonb_array_length(e.started) + s.n, coalesce(s.value ->> 'nodeID', s.value #>> '{}'),
           coalesce((s.value #>> '{frame,-1,iteration}')::int, e.iteration), coalesce(s.value -> 'frame', e.frame), 1, 'RUNNING',
           null, e.created_at
    from run_event e cross join lateral jsonb_array_elements(e.started) with ordinality as s(value, n) where ${condition}`;
}
