import { hash } from 'node:crypto';

/**
 * The id of the run that an action starts for an event: the same for every attempt, so the run is inserted once. It has the time of
 * the event in front, as other ids have, because an index of random ids is slow to write.
 */
export function runIDOf(eventID: string, actionID: string): string {
  const digest = hash('sha256', `${eventID} ${actionID}`);
  const time = eventID.replaceAll('-', '').slice(0, 12);
  const variant = (8 + (Number.parseInt(digest.slice(3, 4), 16) & 3)).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${digest.slice(0, 3)}-${variant}${digest.slice(4, 7)}-${digest.slice(7, 19)}`;
}
