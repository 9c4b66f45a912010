/** How many more runs may be handed over: workers take a quarter more than they have slots, and find the next one at hand. */
export const ROOM = `
  select greatest(0, ceil(1.25 * (select coalesce(sum(slots), 0) from worker_session where ended_at is null and expires_at > now()))::int
    - (select count(*) from workflow_instance where dispatched_at is not null)::int
    - (select count(*) from workflow_instance where held_by is not null)::int) as free`;

// Suspects (losses > 0) never go through the queue: the processes for suspects claim them.
