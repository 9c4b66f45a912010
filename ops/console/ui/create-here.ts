import { type ComponentType, createContext } from 'react';
import type { Named, PickedType } from '../client/references.ts';

export interface CreateProps {
  tenantID: string;
  /** Whether an address can be chosen in place of a member. */
  takesNames?: boolean | undefined;
  /** Whether something like it could be chosen. */
  accepts?: ((one: Named) => boolean) | undefined;
  onCreated: (id: string) => void;
  onClose: () => void;
}

/** Dialogs that create something where it is chosen, by its type. What is not here is created on its page, in another tab. */
export const CreateHere = createContext<Partial<Record<PickedType, ComponentType<CreateProps>>>>({});
