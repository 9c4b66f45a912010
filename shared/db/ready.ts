/**
 * READY, for rows found by their id. The planner cannot see into CASE, so it does not read the index of all ready rows,
 * thousands under load, to find the few that were asked for.
 */
export const READY_BY_ID = `
  case when i.ready_at is not null and i.held_by is null and i.completed_at is null then true else false end`;
