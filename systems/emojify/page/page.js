const by = id => document.getElementById(id);
const [form, url, file, drop] = ['ask', 'url', 'file', 'drop'].map(by);
const [trouble, wait, says, bar, done, picture, save] = ['trouble', 'wait', 'says', 'bar', 'done', 'picture', 'save'].map(by);

// What the api takes is sent as it is; the rest is redrawn smaller.
const kinds = ['image/jpeg', 'image/png', 'image/gif'];
const maxBytes = 6 << 20, maxPixels = 16 << 20, redrawnSide = 2048;
const idPattern = /^[0-9a-f]{64}$/;

// current is the work that the page shows; another one puts an end to it.
let current = new AbortController();

class Trouble extends Error {}

function show(part) {
  for (const p of [form, wait, done]) p.hidden = p !== part && !(part === wait && p === form);
  trouble.hidden = true;
}

function complain(text) {
  show(form);
  trouble.textContent = text;
  trouble.hidden = false;
  url.setAttribute('aria-invalid', 'true');
}

// start has a job done, and tells what comes of it, unless another one began.
async function start(job) {
  current.abort();
  const mine = current = new AbortController();
  url.removeAttribute('aria-invalid');
  show(wait);
  tell('Sending…');
  try {
    await job(mine.signal);
  } catch (e) {
    if (mine.signal.aborted) return;
    complain(e instanceof Trouble ? e.message : 'That did not work. Is the network there?');
  }
}

function tell(text, part) {
  if (says.textContent !== text) says.textContent = text;
  if (part === undefined) bar.removeAttribute('value');
  else bar.value = part;
}

const pause = (ms, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, ms);
  signal.addEventListener('abort', () => { clearTimeout(timer); reject(signal.reason); }, {once: true});
});

// call tries again where the api says that a moment later it may go well.
async function call(path, options, signal) {
  for (let left = 4; ; left--) {
    const response = await fetch(path, {...options, signal}).catch(e => {
      if (signal.aborted || !left) throw e;
    });
    if (response?.ok) return response.json();
    if (left && (!response || response.status === 503 || response.status === 429)) {
      const seconds = Number(response?.headers.get('Retry-After')) || 1;
      await pause(Math.min(seconds, 10) * 1000 * (0.8 + 0.4 * Math.random()), signal);
      continue;
    }
    const failure = await response?.json().catch(() => undefined);
    throw new Trouble(sentence(failure?.error ?? `the service responded with ${response?.status}`));
  }
}

const sentence = text => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');

async function send(body, type, signal) {
  const p = await call('emojify/', {method: 'POST', body, headers: {'Content-Type': type}}, signal);
  history.replaceState(null, '', '#' + p.id);
  await follow(p, signal);
}

// follow asks for the state ever more seldom, and shows what it hears.
async function follow(p, signal) {
  let first = p.position;
  for (let gap = 150; p.status !== 'finished'; gap = Math.min(gap * 1.3, 2000)) {
    if (p.status === 'failed') throw new Trouble(sentence(p.error || 'that did not work'));
    if (p.status === 'queued') {
      first = Math.max(first, p.position);
      tell(`In the queue: ${p.position} of ${Math.max(p.length, p.position)}`, 1 - p.position / (first + 1));
    } else tell('Looking for faces…');
    await pause(gap, signal);
    p = await call('emojify/' + p.id, {}, signal);
  }
  await reveal(p.id, signal);
}

async function reveal(id, signal) {
  const at = 'cache/' + id;
  picture.src = at;
  await picture.decode().catch(() => { throw new Trouble('The picture is finished, but it cannot be shown. Try again.'); });
  signal.throwIfAborted();
  save.href = at;
  show(done);
  by('result').focus();
}

// sendable gives a picture as the api takes it, whatever the browser can read.
async function sendable(blob) {
  const drawn = await createImageBitmap(blob).catch(() => { throw new Trouble('That is not a picture that can be read here.'); });
  const {width, height} = drawn;
  if (kinds.includes(blob.type) && blob.size <= maxBytes && width * height <= maxPixels) {
    drawn.close();
    return blob;
  }
  const scale = Math.min(1, redrawnSide / Math.max(width, height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  canvas.getContext('2d').drawImage(drawn, 0, 0, canvas.width, canvas.height);
  drawn.close();
  return new Promise(resolve => canvas.toBlob(resolve, 'image/jpeg', 0.9));
}

const take = blob => start(async signal => {
  tell('Reading the picture…');
  const ready = await sendable(blob);
  signal.throwIfAborted();
  tell('Sending…');
  await send(ready, ready.type, signal);
});

form.addEventListener('submit', e => {
  e.preventDefault();
  const text = url.value.trim();
  if (!/^https?:\/\/./i.test(text)) {
    complain('An address begins with http:// or https://.');
    url.focus();
    return;
  }
  start(signal => send(text, 'text/plain', signal));
});

file.addEventListener('change', () => {
  if (file.files.length) take(file.files[0]);
  file.value = ''; // the same file may be chosen again
});

const pictureIn = transfer => [...transfer?.files ?? []].find(f => f.type.startsWith('image/'));

// A picture that misses the marked place must not make the browser leave.
addEventListener('dragover', e => {
  e.preventDefault();
  drop.classList.add('over');
});
addEventListener('dragleave', e => {
  if (!e.relatedTarget) drop.classList.remove('over');
});
addEventListener('drop', e => {
  e.preventDefault();
  drop.classList.remove('over');
  const dropped = pictureIn(e.dataTransfer), link = e.dataTransfer.getData('text/uri-list');
  if (dropped) take(dropped);
  else if (link) {
    url.value = link.split(/\r?\n/).find(l => !l.startsWith('#')) ?? '';
    form.requestSubmit();
  } else complain('That is not a picture.');
});
addEventListener('paste', e => {
  const pasted = pictureIn(e.clipboardData);
  if (pasted) {
    e.preventDefault();
    take(pasted);
  }
});

by('again').addEventListener('click', () => {
  current.abort();
  history.replaceState(null, '', location.pathname);
  show(form);
  url.focus();
  url.select();
});

const id = location.hash.slice(1);
if (idPattern.test(id)) start(async signal => follow(await call('emojify/' + id, {}, signal), signal));
