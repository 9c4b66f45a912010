/** Where a value may be a template, and by which word its expressions begin. */
export interface Templates {
  root: 'ctx' | 'event' | 'cron' | 'queries';
  /** Whether ids may be templates too. */
  inIDs: boolean;
  /** Whether a field into which no text can be typed can be switched to an expression; parts of lists and groups cannot. */
  everywhere?: boolean;
}

export function isTemplate(value: unknown): value is string {
  return typeof value === 'string' && value.includes('{{');
}

/** When a template of a form has its value. */
export const computed: Readonly<Record<Templates['root'], string>> = {
  ctx: 'Computed when the step runs',
  event: 'Computed for each event',
  cron: 'Computed at each tick, such as {{cron.scheduledAt}}',
  queries: 'Follows the page while it is open',
};
