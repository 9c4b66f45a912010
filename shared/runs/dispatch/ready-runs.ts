/**
 * Condition for READY, on rows found by id. The planner cannot see into CASE, so it does not read the index of all READY rows,
 * thousands under load, to find a few ids.
 */
export const READY_BY_ID = `
  case when i.ready_at is not null and i.held_by is null and i.completed_at is null
    and (i.not_before is null or i.not_before <= now()) then true else false end`;
