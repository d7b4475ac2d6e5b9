// What the services have in common: they say where they listen, and end with their input.
module.exports = server => {
  const listening = () => console.log(`listening public=127.0.0.1:${server.address().port}`);
  if (server.listening) listening();
  else server.once('listening', listening);
  process.once('SIGTERM', () => process.exit());
};
