import { lazy } from 'react';
import { whenServed } from '../client/when-served.ts';

/** Forms are loaded with the first question: most pages have none. */
export const Question = lazy(() =>
  whenServed(() => import('./question.tsx')).then(({ Question: one }) => ({ default: one })),
);

/** As is the form before a workflow starts. */
export const InputForm = lazy(() =>
  whenServed(() => import('./input-form.tsx')).then(({ InputForm: one }) => ({ default: one })),
);
