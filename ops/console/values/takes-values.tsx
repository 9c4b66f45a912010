import { useContext } from 'react';
import { type FieldProps, ValuesOfStep } from './context.ts';

/** Has values of the run chosen and shown at a field, where there are any. */
export function TakesValues({ disabled = false, children, ...field }: FieldProps & { disabled?: boolean }) {
  const here = useContext(ValuesOfStep);
  if (!here || disabled) return children;
  return (
    <here.Field {...field} here={here}>
      {children}
    </here.Field>
  );
}
