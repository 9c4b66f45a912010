import type { PanelProps } from '../panel.ts';
import type { Action } from './actions-of.ts';

/** The props of the form of an action of any type. */
export interface FormProps extends Pick<PanelProps, 'document' | 'edit'> {
  action: Action;
  /** Changes a part of the action, and leaves the rest of it. */
  set: (part: Action) => void;
}
