/** The classes of runs, for a choice. */
export const runClasses = [
  { value: 'interactive', label: 'Interactive: a person waits for it' },
  { value: 'webhook', label: 'Webhook: another system waits for it' },
  { value: 'cron', label: 'Cron: on time, but no person waits' },
  { value: 'batch', label: 'Batch: when there is room' },
];
