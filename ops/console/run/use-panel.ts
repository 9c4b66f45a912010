import { useEffect, useState } from 'react';
import type { Run } from '../client/types.ts';
import { focusPanel, focusStep } from '../graph/workspace.tsx';
import { failedStepOf } from './failed-step.ts';

export interface Panel {
  /** The key of the step that is shown. */
  step: string | undefined;
  /** Input and output of the run are shown. */
  isResult: boolean;
  close: () => void;
  toggleResult: () => void;
}

interface Options {
  run: Run;
  /** The step in the address. */
  step: string | undefined;
  /** Takes the step out of the address. */
  onClear: () => void;
}

/** The panel beside the graph: the step of the address, else the one that failed the run, else its input and output. */
export function usePanel({ run, step, onClear }: Options): Panel {
  const [chosen, setChosen] = useState<'result' | 'none'>();
  const shown = step ?? (chosen === undefined ? failedStepOf(run) : undefined);
  const isResult = shown === undefined && chosen !== 'none';
  const show = (next: 'result' | 'none') => {
    setChosen(next);
    if (step !== undefined) onClear();
  };
  const close = () => {
    if (shown !== undefined) focusStep(shown.split('@')[0] ?? shown);
    show('none');
  };
  useGraphKeys(close);
  return {
    step: shown,
    isResult,
    close,
    toggleResult: () => show(isResult ? 'none' : 'result'),
  };
}

/** Enter on a step of the graph goes to its panel, and Escape in the panel back to the step. */
function useGraphKeys(close: () => void): void {
  useEffect(() => {
    const onKey = ({ key, target }: KeyboardEvent) => {
      if (!(target instanceof Element) || document.querySelector('[role="dialog"]')) return;
      if (key === 'Enter' && target.matches('.react-flow__node')) focusPanel();
      // A list that is open in the panel closes itself.
      const isInList = target.getAttribute('aria-expanded') === 'true';
      if (key === 'Escape' && target.closest('.studio-panel') && !isInList) close();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  });
}
