import type { ReactNode } from 'react';
import { TakesValues } from '../values/takes-values.tsx';
import type { Drawn } from './drawn.ts';

/** The picker of values and the rest, for a field that takes them. */
export function WithValues({
  syntax,
  label,
  value,
  disabled,
  takesSecrets: takes,
  children,
}: Drawn & { children: ReactNode }) {
  if (!syntax) return children;
  return (
    <TakesValues {...{ label, value, syntax, disabled }} takesSecrets={takes}>
      {children}
    </TakesValues>
  );
}
