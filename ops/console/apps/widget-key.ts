/** The id of the widget in its key on a page, `widget_<id>_<suffix>`. */
export function widgetOf(key: string): string {
  return /^widget_([\da-f-]{36})/i.exec(key)?.[1] ?? '';
}
