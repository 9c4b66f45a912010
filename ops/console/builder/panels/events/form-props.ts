import type { PanelProps } from '../panel.ts';
import type { Action } from './actions-of.ts';

/** What the form of an action gets, whatever its type. */
export interface FormProps extends Pick<PanelProps, 'document' | 'edit'> {
  action: Action;
  /** Changes a part of the action, and leaves the rest of it. */
  set: (part: Action) => void;
}
