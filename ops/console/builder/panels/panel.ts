import type { Edit, PageDocument } from '../document.ts';

export interface PanelProps {
  document: PageDocument;
  /** Edits with the same words soon after one another are taken back as one. */
  edit: (edit: Edit, what?: string) => void;
  /** Chooses a widget on the canvas. */
  onChoose?: ((widgetKey: string) => void) | undefined;
}

export interface WidgetPanelProps extends PanelProps {
  widgetKey: string;
}
