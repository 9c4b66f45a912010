/** In the place of data where there are none. */
export function Nothing({ children = 'No data' }: { children?: string }) {
  return <p className="page-nothing">{children}</p>;
}
