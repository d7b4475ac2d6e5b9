//! pass LISTEN UPSTREAM THREADS: passes every request on to one upstream.
use async_trait::async_trait;
use pingora_core::prelude::*;
use pingora_core::server::configuration::ServerConf;
use pingora_core::server::Server;
use pingora_proxy::{http_proxy_service, ProxyHttp, Session};

struct Pass {
    upstream: String,
}

#[async_trait]
impl ProxyHttp for Pass {
    type CTX = ();

    fn new_ctx(&self) {}

    async fn upstream_peer(&self, _: &mut Session, _: &mut ()) -> Result<Box<HttpPeer>> {
        Ok(Box::new(HttpPeer::new(self.upstream.as_str(), false, String::new())))
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args.len() != 4 {
        println!("version: {}", env!("CARGO_PKG_VERSION"));
        return;
    }
    let conf = ServerConf {
        threads: args[3].parse().expect("THREADS is a number"),
        upstream_keepalive_pool_size: 64,
        ..Default::default()
    };
    let mut server = Server::new_with_opt_and_conf(None, conf);
    server.bootstrap();
    let mut proxy = http_proxy_service(&server.configuration, Pass { upstream: args[2].clone() });
    proxy.add_tcp(&args[1]);
    server.add_service(proxy);
    server.run_forever();
}
