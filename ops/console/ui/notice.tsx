import type { AriaRole, ReactNode } from 'react';
import type { Tone } from './status.tsx';

/** What a person should know, in a sentence or two. */
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
      {children}
    </div>
  );
}
