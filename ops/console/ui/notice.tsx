import { type AriaRole, Children, type ReactNode } from 'react';
import type { Tone } from './status.tsx';
import { Words } from './words.tsx';

/** A message to the person in a sentence or two; texts of the server are drawn as its words. */
export function Notice({
  tone,
  title,
  role,
  children,
}: {
  tone: Tone;
  title?: string;
  role?: AriaRole;
  children: ReactNode;
}) {
  return (
    <div className="notice" data-tone={tone} role={role}>
      {title && <strong>{title}: </strong>}
      {Children.map(children, (child) => (typeof child === 'string' ? <Words text={child} /> : child))}
    </div>
  );
}
