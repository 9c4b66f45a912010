/** The part of a run that is shown, as it stands in the address. */
export interface RunView {
  /** The key of a step. */
  step?: string;
  view?: 'graph' | 'timeline';
  tab?: StepTab;
}

const stepTabs = ['input', 'settings', 'error', 'logs', 'attempts'] as const;
export type StepTab = (typeof stepTabs)[number];

export function parseRunView({ step, view, tab }: Record<string, unknown>): RunView {
  const known = stepTabs.find((one) => one === tab);
  return {
    ...((typeof step === 'string' || typeof step === 'number') && { step: String(step) }),
    ...((view === 'graph' || view === 'timeline') && { view }),
    ...(known && { tab: known }),
  };
}
