import { type ComponentType, type CSSProperties, createContext, type ReactNode, use } from 'react';
import type { Part } from './tree.ts';

export interface PartBoxProps {
  part: Part;
  className?: string;
  style?: CSSProperties;
  children: ReactNode;
}

/** Elements around the parts of a page: a builder draws more of them than the page itself. */
export interface Anchors {
  /** The box of a part, in which all of it is. */
  PartBox: ComponentType<PartBoxProps>;
  /** Around a widget alone, without what its tabs show. */
  WidgetBox: ComponentType<{ widgetKey: string; children: ReactNode }>;
}

const plain: Anchors = {
  PartBox: ({ part: { sizing }, className, style, children }) => (
    <div className={className} style={style} data-sizing={sizing}>
      {children}
    </div>
  ),
  WidgetBox: ({ children }) => children,
};

export const AnchorContext = createContext<Anchors>(plain);

export function useAnchors(): Anchors {
  return use(AnchorContext);
}
