export function session() {
  return (req: any, _res: any, next: () => void) => {
    req.session = { id: req.headers['x-session'] ?? null };
    next();
  };
}
